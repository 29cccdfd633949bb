import { execFile } from "node:child_process"

const LONGEST = 10_000

// What the hook answers. Nothing if it fails, takes too long or is no longer installed: a session
// goes on without memory.
const ask = (event, given) =>
  new Promise((resolve) => {
    const [command, ...words] = WORDS.map((word) => (word === "EVENT" ? event : word))
    const options = { timeout: LONGEST, maxBuffer: 1 << 24, windowsHide: true }
    try {
      const child = execFile(command, words, options, (error, said) => {
        resolve(error ? {} : read(said))
      })
      child.stdin.on("error", () => {})
      child.stdin.end(JSON.stringify(given))
    } catch {
      resolve({})
    }
  })

const read = (said) => {
  try {
    const { hookSpecificOutput: told = {}, decision, reason } = JSON.parse(said || "{}")
    const denied = told.permissionDecision === "deny" ? told.permissionDecisionReason : ""
    return {
      text: told.additionalContext || "",
      denied: denied || "",
      again: decision === "block" ? reason : "",
    }
  } catch {
    return {}
  }
}

// A deed that fails does nothing.
const calm = (deed) => async (...given) => {
  try {
    return await deed(...given)
  } catch {
    return undefined
  }
}
