// Keys and tokens in IndexedDB, which can store a key without showing it to scripts.

function finished(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

async function values(mode) {
  const opening = indexedDB.open('application', 1);
  opening.onupgradeneeded = () => opening.result.createObjectStore('values');
  return (await finished(opening)).transaction('values', mode).objectStore('values');
}

export async function load(name) {
  return finished((await values('readonly')).get(name));
}

export async function save(name, value) {
  await finished((await values('readwrite')).put(value, name));
}
