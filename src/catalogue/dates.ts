const FORMS = [
  /^(?<day>\d{2})\/(?<month>\d{2})\/(?<year>\d{4})$/,
  /^(?<year>\d{4})-(?<month>\d{2})-(?<day>\d{2})$/,
];

/** `DD/MM/YYYY` or `YYYY-MM-DD` to `YYYY-MM-DD`; null if it is neither or not a real date. */
export function parseDate(text: string): string | null {
  for (const form of FORMS) {
    const parts = form.exec(text)?.groups;
    if (!parts) continue;
    const iso = `${parts.year}-${parts.month}-${parts.day}`;
    return isRealDate(iso) ? iso : null;
  }
  return null;
}

/** `YYYY-MM-DD` to `DD/MM/YYYY`, the API's format for dates of birth. */
export function formatDate(iso: string): string {
  const [year, month, day] = iso.split("-");
  return `${day}/${month}/${year}`;
}

// A day that the month does not have is invalid or rolls over into the next month: either way the
// text differs when formatted again. PostgreSQL has no year 0.
function isRealDate(iso: string): boolean {
  const time_ms = Date.parse(`${iso}T00:00:00Z`);
  if (Number.isNaN(time_ms) || iso.startsWith("0000")) return false;
  return new Date(time_ms).toISOString().startsWith(iso);
}
