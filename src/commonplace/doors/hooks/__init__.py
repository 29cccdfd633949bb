"""The hooks that clients call at session start, at a prompt, around a tool and at the end."""
