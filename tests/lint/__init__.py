"""House-rule lint: tests that read the tree and fail on a broken rule.
Checkers live in `rules/` and take {path: text}, so each test also feeds a small violating
sample and sees it reported.
"""
