"""The experiments of the papers, behind ``fuselearn reproduce``; nothing else imports this package."""
