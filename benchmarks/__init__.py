"""What the library costs beside what a user would pick instead; see docs/speed.md."""
