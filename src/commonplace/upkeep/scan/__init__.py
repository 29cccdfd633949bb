"""Find stale, contradictory, duplicate and orphaned memories."""
