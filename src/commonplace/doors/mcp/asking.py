"""Questions to the person, through the client: elicitation, in the forms of both eras.

A call that needs the person ends with a question as its result, and nothing is changed. In the
stateless era the client itself calls again, with the answer; before it, the loop over stdio sends
the question as a request of its own and makes the call again. So no thread waits for a person.
It does not know what the tools do: a tool says what is to be asked before it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from commonplace.doors.mcp import versions
from commonplace.doors.mcp.jsonrpc import Object
from commonplace.model.errors import HeldForReview, Refused, WouldLose
from commonplace.model.files import digest
from commonplace.model.records import Origin, Record
from commonplace.tools.tool import Answer
from commonplace.trust.neutralise import neutralise

if TYPE_CHECKING:
    from commonplace.memory import Memory
    from commonplace.tools.tool import Tool

KEY = "answer"
"""The name of the only question of a call."""
RULE = "rule "
"""How the state of a question begins that is about a memory which waits."""
DECISIONS = ("approve", "reject", "leave")
LONGEST = 4000
"""Characters of a text that a question shows."""


class ClientQuestion(Struct, frozen=True):
    """What a person is asked, and by what the answer is known again."""

    text: str
    state: str
    field: str
    schema: Object

    def as_result(self) -> Object:
        """The result of a call that needs an answer."""
        params = {
            "mode": "form",
            "message": self.text,
            "requestedSchema": {
                "type": "object",
                "properties": {self.field: self.schema},
                "required": [self.field],
            },
        }
        asked = {KEY: {"method": versions.ELICIT, "params": params}}
        return {
            "resultType": versions.INPUT_REQUIRED,
            "inputRequests": asked,
            "requestState": self.state,
        }


def confirmation(text: str, *, state: str) -> ClientQuestion:
    """A question that is answered with yes or no."""
    schema = {"type": "boolean", "title": "Yes, do it"}
    return ClientQuestion(_shown(text), state, "confirm", schema)


class ClientReply(Struct, frozen=True):
    """What came back with a call that is made again; empty with one that is made first."""

    state: str = ""
    action: str = ""
    content: Mapping[str, Any] = {}

    @property
    def is_no(self) -> bool:
        """Whether the person was asked, and did not agree."""
        if not self.action or self.state.startswith(RULE):
            return False
        return self.action != "accept" or self.content.get("confirm") is not True

    def confirms(self, question: ClientQuestion) -> bool:
        """Whether it is a yes to this very question."""
        return self.state == question.state and bool(self.action) and not self.is_no


def reply_in(params: Object) -> ClientReply:
    """The reply that the params of a call carry; what is no reply is none."""
    replies = params.get("inputResponses")
    said = replies.get(KEY) if isinstance(replies, dict) else None
    if not isinstance(said, dict):
        return ClientReply()
    state, content = params.get("requestState"), said.get("content")
    return ClientReply(
        state if isinstance(state, str) else "",
        str(said.get("action") or "cancel"),
        content if isinstance(content, dict) else {},
    )


def called(
    tool: Tool, memory: Memory, given: Object, reply: ClientReply
) -> Answer | ClientQuestion:
    """Call a tool whose client can ask the person, or return what the person is to be asked."""
    wanted = memory.options.elicitation
    if wanted == "never":
        return tool.call(memory, given)
    if reply.state.startswith(RULE) and wanted == "rules":
        return _decided(memory, reply)
    if reply.is_no:
        raise _refused(reply)
    if tool.asks and (text := tool.asks(memory, tool.checked(given))):
        question = confirmation(text, state=f"{tool.name} {digest(text.encode())}")
        if not reply.confirms(question):
            return question
    try:
        return tool.call(memory, given)
    except WouldLose as loss:
        if not any(parameter.name == "confirm" for parameter in tool.parameters):
            raise
        question = confirmation(loss.what, state=f"{tool.name} {loss.token}")
        if not reply.confirms(question):
            return question
        return tool.call(memory, {**given, "confirm": loss.token})
    except HeldForReview as held:
        record = next((each for each in memory.review() if each.id == held.record_id), None)
        # Nobody approves what cannot be shown whole.
        if wanted != "rules" or record is None or len(record.text) > LONGEST // 2:
            raise
        return _about_rule(record)


def _refused(reply: ClientReply) -> Refused:
    """What an agent is told without a yes. Clients without a person say no by themselves."""
    what = "got no answer" if reply.action == "cancel" else "was declined"
    return Refused(
        f"The user's client was asked to confirm this, and it {what}; nothing was changed.",
        next_step="Ask the user what they want. Where nobody sits at the client, its owner may set "
        'elicitation = "never".',
    )


def _about_rule(record: Record) -> ClientQuestion:
    """Whether a memory that waits is approved, with its exact text."""
    text = (
        "An agent wants this to be told to agents from now on. It may come from text that the "
        f"agent has read, and not from you:\n\n{record.kind}: {record.text}"
    )
    schema = {"type": "string", "title": "Decision", "enum": [*DECISIONS]}
    state = f"{RULE}{record.id} {digest(record.text.encode())}"
    return ClientQuestion(_shown(text), state, "decision", schema)


def _decided(memory: Memory, reply: ClientReply) -> Answer:
    """Do what the person decided on a memory that waits, if it reads as it was shown."""
    key = reply.state.removeprefix(RULE).partition(" ")[0]
    record = next((each for each in memory.review() if each.id == key), None)
    decision = reply.content.get("decision") if reply.action == "accept" else ""
    fits = record is not None and _about_rule(record).state == reply.state
    if record is None or not fits or decision not in ("approve", "reject"):
        raise HeldForReview(key)
    # The way in stands in the journal, where the owner's own decisions name no session.
    owner = memory.for_session(f"through {memory.client or 'a client'}", origin=Origin.OWNER)
    owner.for_agents = False
    [done] = owner.decide(decision, [key], shown=[record])
    said = "approved it: it is stored" if decision == "approve" else "rejected it"
    return Answer({"id": done.id, "decision": decision}, f"The user {said} ({done.id}).")


def _shown(text: str) -> str:
    """A text as a person may be shown it: no control characters, not without end."""
    clean = neutralise(text)
    return clean if len(clean) <= LONGEST else f"{clean[:LONGEST]}…"
