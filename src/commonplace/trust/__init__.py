"""Who may do what: origins, approval, evidence, secrets, and text that must not give orders.

It imports `model` alone: it judges texts and origins that others hand to it, and reads no file.
"""
