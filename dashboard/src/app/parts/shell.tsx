import {
  ActionIcon,
  Alert,
  Drawer,
  Menu,
  UnstyledButton,
  useMantineColorScheme,
} from "@mantine/core";
import { type ReactNode, useState } from "react";
import { Link, useLocation } from "wouter";
import { session } from "../session.ts";
import { Icon } from "./icons.tsx";
import { isShown, MENU, type PageLink } from "./pages.ts";
import { SandboxBar } from "./sandbox-bar.tsx";
import { SearchButton } from "./search-button.tsx";

/** The frame around every page: the menu, the account, and the page itself. */
export function Shell({ children }: { children: ReactNode }) {
  const [isOpen, setOpen] = useState(false);
  const [failure, setFailure] = useState<string | null>(null);
  return (
    <div className="shell">
      <a className="skip" href="#main">
        Skip to content
      </a>
      <aside className="side">
        <Brand />
        <Navigation onGo={() => {}} />
      </aside>
      <Drawer
        opened={isOpen}
        onClose={() => setOpen(false)}
        size={260}
        title={<Brand />}
        closeButtonProps={{ "aria-label": "Close menu" }}
      >
        <Navigation onGo={() => setOpen(false)} />
      </Drawer>
      <div className="stage">
        <header className="bar">
          <ActionIcon
            className="burger"
            variant="subtle"
            color="gray"
            aria-label="Open menu"
            onClick={() => setOpen(true)}
          >
            <Icon name="menu" />
          </ActionIcon>
          <span className="bar-account">{session.account.name}</span>
          <span className="bar-space" />
          <SearchButton />
          <PersonMenu onFailure={setFailure} />
        </header>
        {session.mode === "sandbox" && <SandboxBar />}
        <main id="main" className="main">
          {failure && (
            <Alert
              color="red"
              variant="light"
              role="alert"
              mb="md"
              withCloseButton
              closeButtonLabel="Close"
              onClose={() => setFailure(null)}
            >
              {failure}
            </Alert>
          )}
          {children}
        </main>
      </div>
    </div>
  );
}

function Brand() {
  return (
    <span className="brand">
      <svg viewBox="0 0 24 24" width="24" height="24" aria-hidden="true">
        <rect width="24" height="24" rx="6" />
        <path d="M8 19V5M8 13c0-4 8-2 8-8" />
      </svg>
      Sliproad
    </span>
  );
}

function Navigation({ onGo }: { onGo: () => void }) {
  const [path] = useLocation();
  return (
    <nav aria-label="Main">
      {MENU.map((group) => (
        <ul key={group[0]?.name} className="nav">
          {group.filter(isShown).map((entry) => (
            <li key={entry.name}>
              <NavigationLink entry={entry} path={path} onGo={onGo} />
            </li>
          ))}
        </ul>
      ))}
    </nav>
  );
}

function NavigationLink(props: { entry: PageLink; path: string; onGo: () => void }) {
  const { entry, path, onGo } = props;
  const content = (
    <>
      <Icon name={entry.icon} />
      {entry.name}
    </>
  );
  if (entry.is_outside) return <a href={entry.path}>{content}</a>;
  const isHere = path === entry.path || path.startsWith(`${entry.path}/`);
  return (
    <Link href={entry.path} onClick={onGo} aria-current={isHere ? "page" : undefined}>
      {content}
    </Link>
  );
}

type OnFailure = { onFailure: (message: string | null) => void };

function PersonMenu({ onFailure }: OnFailure) {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return (
    <Menu position="bottom-end" width={240}>
      <Menu.Target>
        <UnstyledButton className="person">{session.email}</UnstyledButton>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>{session.role_name}</Menu.Label>
        <Menu.Item component={Link} href="/settings/security">
          Security
        </Menu.Item>
        <Menu.RadioGroup value={colorScheme} onChange={(next) => setColorScheme(next as Scheme)}>
          {SCHEMES.map(([scheme, name]) => (
            <Menu.RadioItem key={scheme} value={scheme} closeMenuOnClick>
              {name}
            </Menu.RadioItem>
          ))}
        </Menu.RadioGroup>
        {session.accounts.length > 1 && <Accounts onFailure={onFailure} />}
        <Menu.Divider />
        <Menu.Item onClick={() => leave(SIGN_OUT, {}, onFailure)}>Sign out</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

const SCHEMES = [
  ["auto", "Colours of the system"],
  ["light", "Light"],
  ["dark", "Dark"],
] as const;
type Scheme = (typeof SCHEMES)[number][0];

/** Those that the person is a member of; choosing one switches to it. */
function Accounts({ onFailure }: OnFailure) {
  return (
    <>
      <Menu.Label>Accounts</Menu.Label>
      <Menu.RadioGroup
        value={session.account.id}
        onChange={(account_id) => leave(SWITCH, { account_id }, onFailure)}
      >
        {session.accounts.map(({ id, name }) => (
          <Menu.RadioItem key={id} value={id}>
            {name}
          </Menu.RadioItem>
        ))}
      </Menu.RadioGroup>
    </>
  );
}

const SIGN_OUT = {
  path: "/sign-out",
  next: "/sign-in",
  failure: "You are still signed in: signing out did not work. Try again.",
};
const SWITCH = {
  path: "/dashboard/account",
  next: "/dashboard",
  failure: "You are still in this account: switching did not work. Try again.",
};

/** Sends what a form of a server's page would: its answer leads to another page, or it failed. */
async function leave(
  { path, next, failure }: typeof SIGN_OUT,
  fields: Record<string, string>,
  onFailure: OnFailure["onFailure"],
): Promise<void> {
  onFailure(null);
  const body = new URLSearchParams({ csrf: session.csrf, ...fields });
  const answer = await fetch(path, { method: "POST", redirect: "manual", body }).catch(() => null);
  if (answer?.type === "opaqueredirect") location.assign(next);
  else onFailure(failure);
}
