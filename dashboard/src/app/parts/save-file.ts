/** Gives a table to the person, as a download of the page. */
export function saveFile(name: string, text: string): void {
  saveBlob(name, new Blob([text], { type: "text/csv;charset=utf-8" }));
}

export function saveBlob(name: string, blob: Blob): void {
  const url = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
