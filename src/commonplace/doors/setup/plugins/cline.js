let session = ""
let directory = ""

const use = (call, input) => ({
  session_id: session,
  tool_name: call.toolName,
  tool_input: input,
  tool_use_id: call.toolCallId,
  cwd: directory,
})

// The last words of the user, without what Cline puts around them.
const typed = (messages) => {
  const said = messages.filter(({ role }) => role === "user").map(({ content }) => words(content))
  const last = said.filter((text) => !text.startsWith("<hook_context")).at(-1) ?? ""
  return last.match(/<user_input[^>]*>([\s\S]*)<\/user_input>/)?.[1] ?? last
}

const words = (content) =>
  typeof content === "string"
    ? content
    : content
        .filter(({ type }) => type === "text")
        .map(({ text }) => text)
        .join("\n")

const aside = ({ parentAgentId }) => Boolean(parentAgentId)

export default {
  name: "commonplace",
  manifest: { capabilities: ["rules", "hooks"] },

  setup(api, context) {
    session = context.session?.sessionId ?? ""
    directory = context.workspaceInfo?.rootPath ?? ""
    const given = { session_id: session, source: "startup", cwd: directory }
    api.registerRule({
      id: "commonplace",
      source: "commonplace",
      content: async () => (await ask("session-start", given)).text ?? "",
    })
  },

  hooks: {
    beforeRun: calm(async ({ snapshot }) => {
      if (aside(snapshot)) return undefined
      const prompt = typed(snapshot.messages)
      const given = { session_id: session, turn_id: snapshot.runId, prompt, cwd: directory }
      const { text } = await ask("prompt-submit", given)
      return text ? { appendContext: text } : undefined
    }),

    beforeTool: calm(async ({ toolCall, input }) => {
      const { denied, text } = await ask("pre-tool", use(toolCall, input))
      if (denied) return { skip: true, reason: denied }
      return text ? { appendContext: text } : undefined
    }),

    afterTool: calm(async ({ toolCall, input }) => {
      await ask("post-tool", use(toolCall, input))
    }),

    afterRun: calm(async ({ snapshot, result }) => {
      if (aside(snapshot)) return
      const given = { turn_id: snapshot.runId, last_assistant_message: result.outputText }
      await ask("stop", { session_id: session, ...given })
    }),
  },
}
