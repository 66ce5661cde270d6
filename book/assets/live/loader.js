// Brings the translator's data into the page. Script elements may load from the disk, where fetch may
// not; `python -m translator web` writes the data as scripts that fill LiveData.
const LiveData = {
  manifest: null,
  words: null,
  parts: [], // base64, a string a part
  part(number, base64) {
    this.parts[number] = base64;
  },
  // The tensors' bytes, joined.
  buffer() {
    const bytes = new Uint8Array(this.manifest.bytes);
    let end = 0;
    for (const part of this.parts) {
      const text = atob(part);
      for (let i = 0; i < text.length; i++) bytes[end + i] = text.charCodeAt(i);
      end += text.length;
    }
    if (end !== bytes.length) throw new Error(`expected ${bytes.length} bytes of weights, got ${end}`);
    return bytes.buffer;
  },
};

function loadScript(address) {
  return new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = address;
    script.onload = () => {
      script.remove();
      resolve();
    };
    script.onerror = () => {
      script.remove();
      reject(new Error(`${address.split("/").pop()} could not be loaded`));
    };
    document.head.append(script);
  });
}

// Load what is not there yet; progress(loaded, total) is told the bytes after each script.
async function loadData(folder, progress) {
  if (!LiveData.manifest) await loadScript(`${folder}manifest.js`);
  if (!LiveData.manifest) throw new Error("manifest.js is damaged");
  const scripts = Object.entries(LiveData.manifest.scripts);
  const total = scripts.reduce((sum, [, size]) => sum + size, 0);
  let loaded = 0;
  for (const [name, size] of scripts) {
    const number = Number(name.match(/\d+/)) - 1; // of a part; the words have none
    const isThere = () => (number < 0 ? LiveData.words : LiveData.parts[number]);
    if (!isThere()) await loadScript(folder + name);
    if (!isThere()) throw new Error(`${name} is damaged`); // cut off on its way, say
    loaded += size;
    progress(loaded, total);
  }
}
