"""Judge who may do what: origins, approval, evidence, secrets, and text that gives orders.

It may import `model`. It reads no file: others hand it the texts and origins to judge.
"""
