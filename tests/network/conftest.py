"""The script that wrote the exports needs PyTorch, which the tests do not."""

collect_ignore = ["exports/export.py"]
