"""Machines and installations: plain, contained, healthy, and with one thing wrong."""
