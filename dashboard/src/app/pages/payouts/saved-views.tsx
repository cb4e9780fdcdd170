import { Button, Menu, Modal, Stack, TextInput } from "@mantine/core";
import { useState } from "react";
import { useLocation, useSearch } from "wouter";
import { Icon } from "../../parts/icons.tsx";
import { session } from "../../session.ts";

type View = { name: string; search: string };

/** In this browser, for this member of this account: others on the same machine do not see them. */
const PLACE = `sliproad-payout-views:${session.account.id}:${session.person_id}`;
const VIEWS_MAX = 30;
const NAME_LENGTH_MAX = 60;

/** Combinations of filters under a name. */
export function SavedViews() {
  const [views, setViews] = useState(readViews);
  const [isNaming, setNaming] = useState(false);
  const [, navigate] = useLocation();
  const search = useSearch();
  const change = (next: View[]) => {
    setViews(next);
    localStorage.setItem(PLACE, JSON.stringify(next));
  };
  return (
    <>
      <Menu position="bottom-end" width={260}>
        <Menu.Target>
          <Button variant="default" size="compact-md">
            Views
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          {views.length === 0 && <Menu.Label>No view is saved yet</Menu.Label>}
          {views.map((view) => (
            <Menu.Item key={view.name} onClick={() => navigate(`/payouts?${view.search}`)}>
              {view.name}
            </Menu.Item>
          ))}
          <Menu.Divider />
          <Menu.Item
            disabled={search === "" || views.length >= VIEWS_MAX}
            onClick={() => setNaming(true)}
          >
            Save this view
          </Menu.Item>
          {views.map(({ name }) => (
            <Menu.Item
              key={name}
              leftSection={<Icon name="close" size={14} />}
              onClick={() => change(views.filter((view) => view.name !== name))}
            >
              Delete the view {name}
            </Menu.Item>
          ))}
        </Menu.Dropdown>
      </Menu>
      {isNaming && (
        <NameDialog
          onClose={() => setNaming(false)}
          onNamed={(name) => {
            change([...views.filter((view) => view.name !== name), { name, search }]);
            setNaming(false);
          }}
        />
      )}
    </>
  );
}

function NameDialog(props: { onClose: () => void; onNamed: (name: string) => void }) {
  const [name, setName] = useState("");
  return (
    <Modal opened onClose={props.onClose} title="Save these filters">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (name.trim()) props.onNamed(name.trim());
        }}
      >
        <Stack gap="sm">
          <TextInput
            label="Name of the view"
            data-autofocus
            maxLength={NAME_LENGTH_MAX}
            value={name}
            onChange={({ currentTarget }) => setName(currentTarget.value)}
          />
          <Button type="submit" disabled={!name.trim()}>
            Save
          </Button>
        </Stack>
      </form>
    </Modal>
  );
}

function readViews(): View[] {
  try {
    const stored = JSON.parse(localStorage.getItem(PLACE) ?? "[]");
    const isView = ({ name, search }: View) =>
      typeof name === "string" && typeof search === "string";
    return Array.isArray(stored) ? stored.filter(isView) : [];
  } catch {
    return [];
  }
}
