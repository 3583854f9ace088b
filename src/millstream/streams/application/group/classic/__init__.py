"""Membership in the classic group of an application, whose leader shares out the tasks."""
