// Shows notifications where a page alone may not, and brings the page to front when one is clicked. Caches nothing.
self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  const address = event.notification.data?.address ?? "/";
  event.waitUntil(
    self.clients.matchAll({ type: "window", includeUncontrolled: true }).then((open) => {
      const page = open[0];
      if (!page) return self.clients.openWindow(address);
      page.postMessage({ go: address });
      return page.focus();
    }),
  );
});
