package stats

import "math"

// LeastSquares is the slope of the line through points whose squared distances in y are least, with its standard error,
// in y per x. It is not ok of fewer than three points, and where all x are the same.
func LeastSquares(x, y []int64) (slope, se float64, ok bool) {
	n := float64(len(x))
	var mx, my float64
	for i := range x {
		mx += float64(x[i]) / n
		my += float64(y[i]) / n
	}
	var sxx, sxy, syy float64
	for i := range x {
		dx, dy := float64(x[i])-mx, float64(y[i])-my
		sxx += dx * dx
		sxy += dx * dy
		syy += dy * dy
	}
	if sxx == 0 || n < 3 {
		return 0, 0, false
	}
	slope = sxy / sxx
	return slope, math.Sqrt(max(0, syy-slope*sxy) / (n - 2) / sxx), true
}
