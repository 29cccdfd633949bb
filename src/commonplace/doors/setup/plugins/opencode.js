export const Commonplace = async ({ client, directory }) => {
  const started = new Map() // The block of each session: opencode makes its system prompt anew.
  const parents = new Map()
  const commands = new Map()
  const replies = new Map()
  const besides = new Map()
  const compacting = new Set() // What is said meanwhile is the summary, and no reply.
  let servers = []

  const parent = async (session) => {
    if (!parents.has(session)) {
      const found = await client.session.get({ path: { id: session } })
      parents.set(session, found.data?.parentID ?? "")
    }
    return parents.get(session)
  }

  // What a subagent reads, the session above it has read.
  const root = async (session) => {
    const above = await parent(session)
    return above ? root(above) : session
  }

  const start = (session, source) => {
    if (!started.has(session)) {
      const given = { session_id: session, source, cwd: directory }
      started.set(session, ask("session-start", given))
    }
    return started.get(session)
  }

  // opencode writes the tool of a server as SERVER_TOOL, each with other characters as "_".
  const named = async (tool) => {
    const find = () =>
      servers
        .filter((name) => tool.startsWith(`${name.replace(/[^a-zA-Z0-9_-]/g, "_")}_`))
        .sort((one, other) => other.length - one.length)[0]
    if (!find() && tool.includes("_")) {
      servers = Object.keys((await client.mcp.status()).data ?? {})
    }
    const server = find()
    return server ? `mcp__${server}__${tool.slice(server.length + 1)}` : tool
  }

  const use = async ({ tool, sessionID, callID }, input) => {
    const session = await root(sessionID)
    return {
      session_id: session,
      agent_id: session === sessionID ? "" : sessionID,
      tool_name: await named(tool),
      tool_input: input,
      tool_use_id: callID,
      cwd: directory,
    }
  }

  const typed = (session, parts) => {
    const command = commands.get(session)
    commands.delete(session)
    const own = parts.filter((part) => part.type === "text" && !part.synthetic && !part.ignored)
    return command ?? own.map((part) => part.text).join("\n")
  }

  const events = {
    "session.idle": async (session) => {
      const reply = replies.get(session)
      if (!reply || compacting.has(session) || (await parent(session))) return
      replies.delete(session)
      const { again } = await ask("stop", { session_id: session, last_assistant_message: reply })
      if (again) {
        const body = { parts: [{ type: "text", text: again }] }
        await client.session.promptAsync({ path: { id: session }, body })
      }
    },
    "session.compacted": async (session) => {
      const given = { session_id: session, compact_summary: replies.get(session) ?? "" }
      replies.delete(session)
      compacting.delete(session)
      if (await parent(session)) return
      await ask("post-compact", given)
      started.delete(session)
      await start(session, "compact")
    },
  }

  return {
    event: calm(async ({ event }) => events[event.type]?.(event.properties.sessionID)),

    "command.execute.before": calm(async ({ command, sessionID, arguments: words }) => {
      commands.set(sessionID, `/${command} ${words}`.trim())
    }),

    "chat.message": calm(async ({ sessionID }, { message, parts }) => {
      if (await parent(sessionID)) return
      compacting.delete(sessionID)
      await start(sessionID, "startup")
      const prompt = typed(sessionID, parts)
      const given = { session_id: sessionID, turn_id: message.id, prompt, cwd: directory }
      const { text } = await ask("prompt-submit", given)
      const last = parts.at(-1)
      if (text && last) {
        const own = { id: `${last.id}m`, type: "text", text, synthetic: true }
        parts.push({ ...own, sessionID, messageID: last.messageID })
      }
    }),

    "experimental.chat.system.transform": calm(async ({ sessionID }, { system }) => {
      const title = /^You are a title generator/.test(system[0] ?? "")
      if (!sessionID || title || (await parent(sessionID))) return
      const { text } = await start(sessionID, "startup")
      // Some models take one system message only.
      if (text) system.push([system.pop(), text].filter(Boolean).join("\n\n"))
    }),

    "tool.execute.before": async (call, { args }) => {
      const said = await calm(async () => ask("pre-tool", await use(call, args)))()
      if (said?.denied) throw new Error(said.denied)
      if (said?.text) besides.set(call.callID, said.text)
    },

    "tool.execute.after": calm(async (call, result) => {
      const text = besides.get(call.callID)
      besides.delete(call.callID)
      if (text && typeof result.output === "string") result.output += `\n\n${text}`
      else if (text && Array.isArray(result.content)) result.content.push({ type: "text", text })
      await ask("post-tool", await use(call, call.args))
    }),

    "shell.env": calm(async ({ sessionID }, { env }) => {
      if (sessionID) env.COMMONPLACE_SESSION ??= await root(sessionID)
    }),

    "experimental.text.complete": calm(async ({ sessionID }, { text }) => {
      replies.set(sessionID, text)
    }),

    "experimental.session.compacting": calm(async ({ sessionID }) => {
      compacting.add(sessionID)
      if (!(await parent(sessionID))) await ask("pre-compact", { session_id: sessionID })
    }),

    dispose: calm(async () => {
      await Promise.all([...started.keys()].map((id) => ask("session-end", { session_id: id })))
    }),
  }
}
