import { Button } from "@mantine/core";
import { useEffect, useState } from "react";
import { Icon } from "./icons.tsx";
import { SearchDialog } from "./search-dialog.tsx";

/** Opens the search; so do Ctrl-K and, outside of fields, a slash. */
export function SearchButton() {
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      const isShortcut = (event.ctrlKey || event.metaKey) && event.key === "k";
      if (!isShortcut && (event.key !== "/" || isField(event.target))) return;
      event.preventDefault();
      setOpen(true);
    };
    addEventListener("keydown", listen);
    return () => removeEventListener("keydown", listen);
  }, []);
  return (
    <>
      <Button
        className="search-button"
        variant="default"
        size="compact-md"
        leftSection={<Icon name="search" size={14} />}
        aria-keyshortcuts="Control+K"
        onClick={() => setOpen(true)}
      >
        Search
      </Button>
      {isOpen && <SearchDialog onClose={() => setOpen(false)} />}
    </>
  );
}

function isField(target: EventTarget | null): boolean {
  return target instanceof Element && target.matches("input, textarea, select, [contenteditable]");
}
