"""Commands for the owner of a vault: init, doctor, selftest, migrate, backup, evaluate."""
