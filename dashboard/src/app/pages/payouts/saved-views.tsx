import { Button, Menu, TextInput } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useLocation, useSearch } from "wouter";
import { ask, messageOf, queries, tell } from "../../api.ts";
import { FormDialog } from "../../parts/form-dialog.tsx";
import { Icon } from "../../parts/icons.tsx";
import { session } from "../../session.ts";

type View = { name: string; search: string };
type Saved = { views: View[]; views_max: number };

const PATH = "/payout_views";
const KEY = ["payout-views"];
const NAME_LENGTH_MAX = 60;
/** Where this browser kept them before the server did. */
const OLD_PLACE = `sliproad-payout-views:${session.account.id}:${session.person_id}`;

/** Combinations of filters under a name, which a member finds wherever they sign in. */
export function SavedViews() {
  const [isNaming, setNaming] = useState(false);
  const [, navigate] = useLocation();
  const search = useSearch();
  const { data, error } = useQuery({ queryKey: KEY, queryFn: loadViews });
  const views = data?.views ?? [];
  const remove = useMutation({
    mutationFn: (name: string) => tell(PATH, { name }, "DELETE"),
    onSettled: () => queries.invalidateQueries({ queryKey: KEY }),
  });
  const failed = remove.error ?? error;
  return (
    <>
      <Menu position="bottom-end" width={260}>
        <Menu.Target>
          <Button variant="default" size="compact-md">
            Views
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          {failed && <Menu.Label role="alert">{messageOf(failed)}</Menu.Label>}
          {data && views.length === 0 && <Menu.Label>No view is saved yet</Menu.Label>}
          {views.map((view) => (
            <Menu.Item key={view.name} onClick={() => navigate(`/payouts?${view.search}`)}>
              {view.name}
            </Menu.Item>
          ))}
          <Menu.Divider />
          <Menu.Item
            disabled={search === "" || !data || views.length >= data.views_max}
            onClick={() => setNaming(true)}
          >
            Save this view
          </Menu.Item>
          {views.map(({ name }) => (
            <Menu.Item
              key={name}
              leftSection={<Icon name="close" size={14} />}
              onClick={() => remove.mutate(name)}
            >
              Delete the view {name}
            </Menu.Item>
          ))}
        </Menu.Dropdown>
      </Menu>
      {isNaming && <NameDialog search={search} onClose={() => setNaming(false)} />}
    </>
  );
}

function NameDialog({ search, onClose }: { search: string; onClose: () => void }) {
  const [name, setName] = useState("");
  return (
    <FormDialog
      title="Save these filters"
      act="Save"
      is_ready={name.trim() !== ""}
      send={async () => {
        await tell(PATH, { name, search });
        await queries.invalidateQueries({ queryKey: KEY });
      }}
      onClose={onClose}
    >
      <TextInput
        label="Name of the view"
        data-autofocus
        maxLength={NAME_LENGTH_MAX}
        value={name}
        onChange={({ currentTarget }) => setName(currentTarget.value)}
      />
    </FormDialog>
  );
}

async function loadViews(): Promise<Saved> {
  const old = localStorage.getItem(OLD_PLACE);
  if (old !== null) {
    localStorage.removeItem(OLD_PLACE);
    for (const { name, search } of JSON.parse(old)) await tell(PATH, { name, search });
  }
  return ask<Saved>(PATH);
}
