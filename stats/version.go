package stats

// Version grows with every change that moves a result of this package. Recorded accuracy belongs to one version.
const Version = 1
