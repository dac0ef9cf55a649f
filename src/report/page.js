"use strict";
/* Reads the curves off: a crosshair in all charts at the same place, and the values of all lines above them. */
(() => {
    const data = JSON.parse(document.getElementById("data").textContent);
    const [left, top_, width, height] = data.box, [low, high] = data.x;
    const svgNs = "http://www.w3.org/2000/svg";
    const charts = [...document.querySelectorAll(".chart")].map((figure, i) => {
        const chart = data.charts[i], svg = figure.querySelector("svg");
        chart.lines.forEach(line => { let sum = 0; line.x = line.x.map(d => sum += d); });
        const make = (name, className) => {
            const element = svg.appendChild(document.createElementNS(svgNs, name));
            element.setAttribute("class", className);
            element.style.display = "none";
            return element;
        };
        const cross = make("path", "cross"), label = make("text", "cross-x");
        const dots = chart.lines.map(line => {
            const dot = make("circle", "at");
            dot.setAttribute("r", 4.5);
            dot.style.fill = `var(--p${line.c})`;
            return dot;
        });
        const values = [...figure.querySelectorAll(".readout b")];
        return { ...chart, svg, cross, label, dots, values, last: values.map(value => value.textContent) };
    });
    /* Index of the point nearest to x. */
    const nearest = (xs, x) => {
        let a = 0, b = xs.length - 1;
        while (b - a > 1) {
            const middle = (a + b) >> 1;
            if (xs[middle] < x) a = middle; else b = middle;
        }
        return Math.abs(xs[a] - x) <= Math.abs(xs[b] - x) ? a : b;
    };
    const short = v => v === 0 ? "0" : Math.abs(v) >= 1e9 || Math.abs(v) < 1e-3 ? v.toExponential(3) : String(+v.toPrecision(5));
    /* As tell_value in charts.c. */
    const tell = (chart, v) => {
        if (!chart.unit) return short(v);
        let i = 0;
        for (; Math.abs(v) >= 1000 && i < 5; i++) v /= 1000;
        return `${+v.toPrecision(4)}${chart.unit === "B" ? " " : ""}${["", "k", "M", "G", "T", "P"][i]}${chart.unit}`;
    };
    const grouped = x => data.name === "hours" ? x.toFixed(3) : Math.round(x).toLocaleString("en");
    const placeY = (axis, y) => {
        const share = axis[2] ? Math.log(Math.max(y, axis[0] / 1e3) / axis[0]) / Math.log(axis[1] / axis[0]) : (y - axis[0]) / (axis[1] - axis[0]);
        return top_ + height * (1 - Math.min(Math.max(share, 0), 1));
    };
    const placeX = x => left + width * (x - low) / (high - low);
    const show = (chart, x) => {
        const at = placeX(x), right = at > left + width / 2;
        chart.cross.setAttribute("d", `M${at} ${top_}V${top_ + height}`);
        chart.label.setAttribute("x", at + (right ? -6 : 6));
        chart.label.setAttribute("y", top_ + 10);
        chart.label.setAttribute("text-anchor", right ? "end" : "start");
        chart.label.textContent = `${data.name} ${grouped(x)}`;
        chart.cross.style.display = chart.label.style.display = "";
        chart.lines.forEach((line, i) => {
            const k = nearest(line.x, x), dot = chart.dots[i], end = line.x[line.x.length - 1];
            if (x > end + (high - low) / 100) { /* the run has not come so far */
                dot.style.display = "none";
                chart.values[i].textContent = "–";
                return;
            }
            dot.setAttribute("cx", placeX(line.x[k]));
            dot.setAttribute("cy", placeY(chart.y, line.y[k]));
            dot.style.display = "";
            chart.values[i].textContent = tell(chart, line.y[k]) + (line.l && line.l[k] < line.h[k] ? ` (mean of ${tell(chart, line.l[k])} to ${tell(chart, line.h[k])})` : "");
        });
    };
    const hide = chart => {
        for (const element of [chart.cross, chart.label, ...chart.dots]) element.style.display = "none";
        chart.values.forEach((value, i) => value.textContent = chart.last[i]);
    };
    /* The place of the pointer, moved to the nearest point of a line. */
    const follow = (event, chart) => {
        const box = chart.svg.getBoundingClientRect();
        const x = low + (high - low) * ((event.clientX - box.left) * chart.svg.viewBox.baseVal.width / box.width - left) / width;
        let best = null;
        for (const line of chart.lines) {
            const there = line.x[nearest(line.x, x)];
            if (best === null || Math.abs(there - x) < Math.abs(best - x)) best = there;
        }
        if (best !== null) charts.forEach(other => show(other, best));
    };
    charts.forEach(chart => {
        chart.svg.addEventListener("pointermove", event => follow(event, chart));
        chart.svg.addEventListener("pointerleave", () => charts.forEach(hide));
    });
})();
