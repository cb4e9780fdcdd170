const ID = /^[0-9a-f]{8}-[0-9a-f-]{27}$/;

type People = Readonly<Record<string, { name: string } | undefined>>;

/** An account of the chart in words, with the name of whom it is of. */
export function nameOfAccount(ledger_account: string, people: People = {}): string {
  const [name = "", ...places] = ledger_account.split(":");
  const shown = places.map((place) =>
    ID.test(place) ? (people[place]?.name ?? `…${place.slice(-8)}`) : place,
  );
  return [inWords(name), ...shown].join(" · ");
}

export function inWords(name: string): string {
  const words = name.replaceAll("_", " ");
  if (words === "fx position") return "Exchange position";
  return words.charAt(0).toUpperCase() + words.slice(1);
}
