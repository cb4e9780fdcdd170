import { Modal, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { type KeyboardEvent, useState } from "react";
import { useLocation } from "wouter";
import { type Hit, pathOfHit } from "../hit.ts";
import { PEOPLE_COMPARED_MAX, type SearchResult, search } from "../search.ts";
import { may } from "../session.ts";
import { Icon, type IconName } from "./icons.tsx";
import { isShown, PAGES } from "./pages.ts";
import { plainText } from "./plain-text.ts";

type Choice = { key: string; title: string; note: string; icon: IconName; path: string };

/** A search begins when nothing was typed for this long. */
const PAUSE_MS = 200;

const ICONS: Readonly<Record<Hit["kind"], IconName>> = {
  payout: "payouts",
  person: "people",
  bank_account: "bank",
  quote: "quotes",
  onramp: "deposits",
  refund: "payouts",
  invoice: "invoices",
  request: "settings",
};

/** Finds a record by what people know of it, or a page by its name. */
export function SearchDialog({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const [, navigate] = useLocation();
  const [asked] = useDebouncedValue(text.trim(), PAUSE_MS);
  const { data, isFetching, isError } = useQuery({
    queryKey: ["search", asked],
    queryFn: () => search(asked),
    enabled: asked.length > 1 && may("see_records"),
  });
  const choices = [...pagesNamed(text.trim()), ...choicesOf(data)];
  const chosen = Math.min(at, choices.length - 1);
  const open = (choice: Choice | undefined) => {
    if (!choice) return;
    onClose();
    if (choice.path.startsWith("/dashboard/")) location.assign(choice.path);
    else navigate(choice.path);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Enter") open(choices[chosen]);
    if (step === undefined) return;
    event.preventDefault();
    setAt(Math.max(0, Math.min(choices.length - 1, chosen + step)));
  };
  return (
    <Modal opened onClose={onClose} title="Search" size="lg">
      <TextInput
        // At once: what is typed right after Ctrl-K belongs here.
        autoFocus
        data-autofocus
        aria-label="Search"
        placeholder="Id, reference, invoice, e-mail, account number, name or page"
        leftSection={<Icon name="search" size={16} />}
        role="combobox"
        aria-expanded={choices.length > 0}
        aria-controls="found"
        aria-activedescendant={choices[chosen] ? `found-${chosen}` : undefined}
        value={text}
        onChange={({ currentTarget }) => {
          setText(currentTarget.value);
          setAt(0);
        }}
        onKeyDown={onKeyDown}
      />
      <div id="found" role="listbox" aria-label="Found" className="found">
        {choices.map((choice, place) => (
          <div
            key={choice.key}
            id={`found-${place}`}
            role="option"
            tabIndex={-1}
            aria-selected={place === chosen}
            onClick={() => open(choice)}
            onKeyDown={onKeyDown}
          >
            <Icon name={choice.icon} size={16} />
            <span className="strong">{choice.title}</span>
            <span className="quiet">{choice.note}</span>
          </div>
        ))}
      </div>
      <p role="status" className="quiet">
        {isError
          ? "The search did not work. Try again."
          : sayCount(choices.length, asked, isFetching, data?.people_searched ?? 0)}
      </p>
    </Modal>
  );
}

function sayCount(count: number, asked: string, is_fetching: boolean, people: number): string {
  if (is_fetching) return "Searching";
  if (asked.length < 2 && count === 0) return "Whole words and exact numbers are found.";
  const found = count === 0 ? "Nothing found. Check for a missing character." : `${count} found`;
  if (people < PEOPLE_COMPARED_MAX) return found;
  return `${found}; by name among the newest ${people} people only, others by their e-mail`;
}

function pagesNamed(text: string): Choice[] {
  if (text === "") return [];
  return PAGES.filter(
    (page) => isShown(page) && page.name.toLowerCase().startsWith(text.toLowerCase()),
  ).map(({ name, path, icon }) => ({ key: path, title: name, note: "Page", icon, path }));
}

function choicesOf(result: SearchResult | undefined): Choice[] {
  if (!result) return [];
  const isOpen = ({ kind }: Hit) => kind !== "request" || may("see_keys_and_log");
  const hits = result.hits.filter(isOpen).map((hit) => {
    const { kind, id: key, title, note } = hit;
    return { key, title: plainText(title), note, icon: ICONS[kind], path: pathOfHit(hit) };
  });
  const lists = result.filters.map(({ name, value }) => ({
    ...{ key: `${name} ${value}`, title: "All payouts of it", note: "", icon: "payouts" as const },
    path: `/payouts?${new URLSearchParams({ [name]: value })}`,
  }));
  return [...hits, ...lists];
}
