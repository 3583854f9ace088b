"""`millstream transactions`: of coordinators, and those that hang in a partition."""
