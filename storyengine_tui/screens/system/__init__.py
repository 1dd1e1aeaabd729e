"""Help, bug report, password, welcome and example chapters."""
