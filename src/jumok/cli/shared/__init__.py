"""What several commands share: options, progress, output, and the screens of a terminal."""
