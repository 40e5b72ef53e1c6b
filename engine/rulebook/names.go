package rulebook

// Manifest is the file that names the script of each kind.
const Manifest = manifestFile
