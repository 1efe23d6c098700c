// Runs before the page. A page that was opened as a file may not load its parts, since browsers forbid it: this says what to
// do. Else the worker begins at once, with the engine and the model of the address, while the page is still being read.
if (location.protocol === "file:") {
  document.addEventListener("DOMContentLoaded", () => {
    const text = [
      "Browsers do not let a page that was opened as a file load its parts. ",
      "Run “python3 -m http.server” in this folder and open http://localhost:8000/, or put the folder on any web host.",
    ].join("");
    const note = Object.assign(document.createElement("p"), { textContent: text, className: "note" });
    document.getElementById("app").replaceChildren(note);
  });
} else {
  const worker = new Worker(document.querySelector("meta[name=jumok-worker]").content);
  window.jumokWorker = worker;
  worker.onerror = () => {
    window.jumokWorker = null; // the page starts another, and says what is wrong
  };
  worker.postMessage({ open: document.baseURI, model: new URLSearchParams(location.hash.split("?")[1]).get("m") });
}
