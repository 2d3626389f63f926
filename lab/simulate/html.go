package simulate

import (
	"fmt"
	"html"
	"io"
	"strconv"
	"strings"
	"time"
)

// Sizes of a chart in pixels: the whole, and the margins of the axes.
const (
	chartWidth, chartHeight = 860, 260
	chartLeft, chartTop     = 70, 28
	chartRight, chartBottom = 40, 34
)

// The styles of a page and of its charts, light and dark.
const (
	style = `body{font:15px/1.5 system-ui,sans-serif;max-width:900px;margin:2em auto;
padding:0 1em;color:#1c2733;background:#fff}h1{font-size:1.4em}h2{font-size:1.1em;margin-top:2em}
table{border-collapse:collapse}td,th{padding:.2em .9em .2em 0;text-align:left;font-variant-numeric:
tabular-nums}th{font-weight:600;border-bottom:1px solid #9aa7b4}svg{width:100%;height:auto}
@media(prefers-color-scheme:dark){body{color:#dfe6ee;background:#12181f}}`
	chartStyle = `text{font:12px system-ui,sans-serif;fill:currentColor}.axis{stroke:#9aa7b4}
.with{stroke:#0b6bcb;fill:none;stroke-width:2}.without{stroke:#9aa7b4;fill:none;stroke-width:2;
stroke-dasharray:5 4}.event{stroke:#c4432b}.bar{fill:#0b6bcb;fill-opacity:.55}
@media(prefers-color-scheme:dark){svg{color:#dfe6ee}.with{stroke:#59a9f5}.event{stroke:#f08a70}}`
)

// HTML writes a report as one page that needs nothing else: a chart of the steps of each job, with
// the events as marks, the use of links by tier, the busiest links, which hosts were told what
// when, and the tables of [Report.Text].
func (r *Report) HTML(w io.Writer) error {
	p := &page{}
	p.write("<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content=" +
		`"width=device-width">`)
	p.write("<title>weft simulate</title><style>")
	p.WriteString(style + chartStyle)
	p.write("</style><h1>%s</h1>", r.Scenario.title())
	for i, j := range r.Jobs {
		p.write("<h2>Time of each step of %s</h2>", j.Name)
		p.write(`<svg viewBox="0 0 %d %d" role=img aria-label="time of each step">`, chartWidth,
			chartHeight)
		r.chart(p, j, r.Without[i])
		p.write("</svg><p>Dashed: without events. Numbers mark the events in their order.")
	}
	p.write("<h2>Use of links</h2>")
	height := tierHeight * len(r.Tiers)
	p.write(`<svg viewBox="0 0 %d %d" role=img aria-label="use of links">`, chartWidth, height)
	r.tierBars(p)
	p.write("</svg><p>Bars: the mean of all links. Lines: the busiest one.")
	for _, t := range r.tables() {
		p.table(t)
	}
	if len(r.Busiest) > 0 {
		rows := [][]string{{"BUSIEST LINKS", "USE"}}
		for _, u := range r.Busiest {
			rows = append(rows, []string{u.Link, fmt.Sprintf("%.1f %%", 100*u.Use)})
		}
		p.table(rows)
	}
	for _, e := range r.Events {
		if len(e.Who) == 0 {
			continue
		}
		rows := [][]string{{"HOST", "TOLD AFTER", "EVS DENIED"}}
		for _, h := range e.Who {
			rows = append(rows, []string{h.Host, us(h.After).String(), strconv.Itoa(h.Denied)})
		}
		p.write("<details><summary>Hosts told of %s at %v</summary>", e.What, e.At)
		p.table(rows)
		p.write("</details>")
	}
	_, err := io.WriteString(w, p.String()+"</html>\n")
	return err
}

// Picture writes the charts for all jobs into one SVG file, one below the other.
func (r *Report) Picture(w io.Writer) error {
	p := &page{}
	p.write(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" color="#1c2733"><style>`,
		chartWidth, (chartHeight+chartTop)*len(r.Jobs))
	p.WriteString(chartStyle + "</style>\n")
	for i, j := range r.Jobs {
		p.write(`<g transform="translate(0 %d)"><text x="%d" y="%d">%s: time of each step</text>`,
			(chartHeight+chartTop)*i, chartLeft, chartTop/2, j.Name)
		p.write(`<g transform="translate(0 %d)">`, chartTop/2)
		r.chart(p, j, r.Without[i])
		p.write("</g></g>\n")
	}
	_, err := io.WriteString(w, p.String()+"</svg>\n")
	return err
}

// page is HTML under way.
type page struct{ strings.Builder }

// write writes arguments into a format that is HTML; texts are escaped.
func (p *page) write(format string, args ...any) {
	for i, a := range args {
		if text, ok := a.(string); ok {
			args[i] = html.EscapeString(text)
		}
	}
	fmt.Fprintf(p, format, args...)
}

// table writes a table: the first row has the heads.
func (p *page) table(rows [][]string) {
	p.write("<p><table>")
	for i, row := range rows {
		cell := "td"
		if i == 0 {
			cell = "th"
		}
		p.write("<tr>")
		for _, text := range row {
			p.write("<"+cell+">%s", text)
		}
	}
	p.write("</table>")
}

// tierHeight is the height of the bar of a tier, in pixels.
const tierHeight = 30

// tierBars writes the use of links by tier into a chart.
func (r *Report) tierBars(p *page) {
	const left, right = chartLeft + 60, chartWidth - chartRight - 160
	for i, u := range r.Tiers {
		y := i * tierHeight
		x := func(share float64) float64 { return left + share*(right-left) }
		p.write(`<text x="%d" y="%d" text-anchor="end">%s</text>`, left-8, y+19, u.name())
		p.write(`<rect class="bar" x="%d" y="%d" width="%.1f" height="18" />`, left, y+6,
			x(u.Mean)-left)
		p.write(`<line class="event" x1="%.1f" x2="%.1f" y1="%d" y2="%d" />`, x(u.Most), x(u.Most), y+3,
			y+27)
		p.write(`<text x="%d" y="%d">%.0f %%, %.0f %% %s</text>`, right+8, y+19, 100*u.Mean, 100*u.Most,
			u.Link)
	}
}

// chart writes the steps of a job over time into a chart, beside the steps without events.
func (r *Report) chart(p *page, j, without JobResult) {
	most, ended := time.Duration(1), r.Ended
	for _, s := range append(j.Steps[:len(j.Steps):len(j.Steps)], without.Steps...) {
		most, ended = max(most, s.Took), max(ended, s.Began+s.Took)
	}
	x := func(at time.Duration) float64 {
		return chartLeft + float64(at)/float64(max(1, ended))*(chartWidth-chartLeft-chartRight)
	}
	y := func(took time.Duration) float64 {
		return chartHeight - chartBottom -
			float64(took)/float64(most)/1.1*(chartHeight-chartTop-chartBottom)
	}
	for i := range 5 {
		at := time.Duration(float64(most) * float64(i) / 4)
		p.write(`<line class="axis" x1="%d" x2="%d" y1="%.1f" y2="%.1f" stroke-opacity=".4" />`,
			chartLeft, chartWidth-chartRight, y(at), y(at))
		p.write(`<text x="%d" y="%.1f" text-anchor="end">%v</text>`, chartLeft-8, y(at)+4, us(at))
		at = time.Duration(float64(ended) * float64(i) / 4)
		p.write(`<text x="%.1f" y="%d" text-anchor="middle">%v</text>`, x(at), chartHeight-12, us(at))
	}
	for i, e := range r.Events {
		p.write(`<line class="event" x1="%.1f" x2="%.1f" y1="%d" y2="%d"><title>%v: %s</title></line>`,
			x(e.At), x(e.At), chartTop-6, chartHeight-chartBottom, e.At, e.What)
		if i > 0 && r.Events[i-1].At == e.At {
			continue // the label of the first event at this time has all of them
		}
		label, last := strconv.Itoa(i+1), i
		for last+1 < len(r.Events) && r.Events[last+1].At == e.At {
			last++
		}
		if last > i {
			label += "-" + strconv.Itoa(last+1)
		}
		p.write(`<text x="%.1f" y="%d" text-anchor="middle">%s</text>`, x(e.At), chartTop-10, label)
	}
	p.line("without", without.Steps, x, y)
	p.line("with", j.Steps, x, y)
}

// line writes steps as a line of SVG: each is level from its begin to its end.
func (p *page) line(class string, steps []StepTime, x, y func(time.Duration) float64) {
	var points strings.Builder
	for _, s := range steps {
		fmt.Fprintf(&points, "%.1f,%.1f %.1f,%.1f ", x(s.Began), y(s.Took), x(s.Began+s.Took),
			y(s.Took))
	}
	p.write(`<polyline class="%s" points="%s" />`, class, points.String())
}
