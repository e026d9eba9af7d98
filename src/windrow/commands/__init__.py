"""The subcommands of `windrow`: what each is asked, and how it answers."""
