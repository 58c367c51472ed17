"""Results → pages for people. Each page is one HTML file that works from disk and loads nothing."""

from edgeperf.report.search_page import write_search_report

__all__ = ["write_search_report"]
