// Keeps the files of this site in the browser, so that it opens without a network. Made by `jumok site`: __FILES__ are all of them.
const ours = `jumok ${self.registration.scope} `;
const name = ours + "__VERSION__";

self.addEventListener("install", (event) => {
  event.waitUntil(
    caches
      .open(name)
      .then((cache) => cache.addAll(__FILES__))
      .then(() => self.skipWaiting()),
  );
});

self.addEventListener("activate", (event) => {
  const old = (names) => names.filter((one) => one.startsWith(ours) && one !== name);
  event.waitUntil(
    caches
      .keys()
      .then((names) => Promise.all(old(names).map((one) => caches.delete(one))))
      .then(() => self.clients.claim()),
  );
});

self.addEventListener("fetch", (event) => {
  if (event.request.method !== "GET") return;
  event.respondWith(caches.match(event.request, { ignoreSearch: true }).then((found) => found ?? fetch(event.request)));
});
