const STYLES = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "stroke-linecap", "stroke-linejoin", "font-size", "font-weight", "font-family"];

const save = (name, type, text) => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
};

/** The picture as it looks now, with its colours inside. */
const standalone = (chart) => {
  const copy = chart.cloneNode(true);
  const [from, to] = [chart, copy].map((one) => [one, ...one.querySelectorAll("*")]);
  from.forEach((one, n) => {
    const style = getComputedStyle(one);
    for (const name of STYLES) to[n].setAttribute(name, style.getPropertyValue(name));
  });
  for (const one of copy.querySelectorAll(".tip, .hit")) one.remove();
  const paper = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  const colour = getComputedStyle(chart.closest("figure")).backgroundColor;
  for (const [name, value] of Object.entries({ width: "100%", height: "100%", fill: colour })) paper.setAttribute(name, value);
  copy.prepend(paper);
  return new XMLSerializer().serializeToString(copy);
};

document.getElementById("save").addEventListener("click", (event) => {
  event.preventDefault();
  save("report.json", "application/json", document.getElementById("report").textContent);
});
for (const figure of document.querySelectorAll("figure")) {
  const button = document.createElement("button");
  button.className = "save";
  button.textContent = "Save as SVG";
  button.addEventListener("click", () => {
    const chart = [...figure.querySelectorAll("svg")].find((one) => one.getClientRects().length);
    save(`${figure.id}.svg`, "image/svg+xml", standalone(chart));
  });
  figure.append(button);
}
