package stats

import "sort"

// columns answers weighted quantiles of one sample under many sets of multipliers, one multiplier for each column
// (a block of time, or a class within a block). It is what makes resampling cheap: requests are sorted once, and
// a quantile costs some binary search over sums by column instead of a pass over all requests.
type columns struct {
	x, w []float64
	col  []int32
	k    int
	sums []float64 // sums[g·k+c] is the weight of column c among the first g·columnStep requests
}

// columnStep is the number of requests between two rows of sums.
const columnStep = 64

func newColumns(x, w []float64, col []int32, k int) *columns {
	c := &columns{x: x, w: w, col: col, k: k}
	c.sums = make([]float64, (c.rows()+1)*k)
	for g := range c.rows() {
		row := c.sums[(g+1)*k:][:k]
		copy(row, c.sums[g*k:][:k])
		for i := g * columnStep; i < min((g+1)*columnStep, len(x)); i++ {
			row[col[i]] += w[i]
		}
	}
	return c
}

// rows is the number of steps, the last one perhaps short; there is one more row of sums.
func (c *columns) rows() int { return (len(c.x) + columnStep - 1) / columnStep }

// at is the weight of the first g rows under the multipliers.
func (c *columns) at(g int, multiplier []float64) float64 {
	sum := 0.0
	for i, s := range c.sums[g*c.k:][:c.k] {
		sum += s * multiplier[i]
	}
	return sum
}

// total is the weight of all under the multipliers.
func (c *columns) total(multiplier []float64) float64 { return c.at(c.rows(), multiplier) }

// place is the place of the point quantile q under the multipliers, −1 if they leave no weight.
func (c *columns) place(q float64, multiplier []float64) int {
	total := c.total(multiplier)
	if !(total > 0) {
		return -1
	}
	target := q * total * (1 - slack)
	rows := c.rows()
	// The first row whose end reaches the target; the quantile is among its requests.
	g := sort.Search(rows, func(g int) bool { return c.at(g+1, multiplier) >= target })
	if g == rows {
		g = rows - 1
	}
	sum := c.at(g, multiplier)
	last := min((g+1)*columnStep, len(c.x)) - 1
	for i := g * columnStep; i < last; i++ {
		if sum += c.w[i] * multiplier[c.col[i]]; sum >= target && multiplier[c.col[i]] > 0 {
			return i
		}
	}
	return last
}
