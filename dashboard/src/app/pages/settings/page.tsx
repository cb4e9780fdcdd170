import { type ComponentType, lazy, Suspense } from "react";
import { Link, Redirect, Route, Switch, useLocation } from "wouter";
import { Empty, Loading } from "../../parts/states.tsx";
import { may } from "../../session.ts";

type Section = {
  name: string;
  path: string;
  /** What a role needs to see it. */
  permission: string;
  page: ComponentType;
};

const DEVELOPER = "/settings/developer";

const DEVELOPER_SECTIONS: readonly Section[] = [
  {
    name: "Apps",
    path: `${DEVELOPER}/apps`,
    permission: "see_apps",
    page: lazy(() => import("./apps/page.tsx")),
  },
  {
    name: "API keys",
    path: `${DEVELOPER}/keys`,
    permission: "see_keys_and_log",
    page: lazy(() => import("./keys/page.tsx")),
  },
  {
    name: "Logs",
    path: `${DEVELOPER}/logs`,
    permission: "see_keys_and_log",
    page: lazy(() => import("./logs/page.tsx")),
  },
];

const SECTIONS: readonly Section[] = [
  {
    name: "Team",
    path: "/settings/team",
    permission: "manage_members",
    page: lazy(() => import("./team/page.tsx")),
  },
  {
    name: "Security",
    path: "/settings/security",
    permission: "see_account",
    page: lazy(() => import("./security/page.tsx")),
  },
  {
    name: "Audit log",
    path: "/settings/audit",
    permission: "see_keys_and_log",
    page: lazy(() => import("./audit/page.tsx")),
  },
];

/** Settings, by section; who may see none of a section does not see its name. */
export default function SettingsPage() {
  const sections = SECTIONS.filter(({ permission }) => may(permission));
  const developer = DEVELOPER_SECTIONS.filter(({ permission }) => may(permission));
  const [path] = useLocation();
  const isDeveloper = path.startsWith(DEVELOPER);
  const all = [...sections, ...developer];
  const [first] = all;
  if (!first) return <Empty title="No settings">Your role may see none of them.</Empty>;
  return (
    <>
      <nav aria-label="Settings" className="subnav">
        {sections.map((one) => (
          <SectionLink key={one.path} name={one.name} path={one.path} />
        ))}
        {developer[0] && (
          <SectionLink name="Developer" path={developer[0].path} isHere={isDeveloper} />
        )}
      </nav>
      {isDeveloper && (
        <nav aria-label="Developer" className="subnav subnav-inner">
          {developer.map((one) => (
            <SectionLink key={one.path} name={one.name} path={one.path} />
          ))}
        </nav>
      )}
      <Suspense fallback={<Loading />}>
        <Switch>
          {all.map(({ path: at, page: Page }) => (
            <Route key={at} path={`${at}/:id?`}>
              <Page />
            </Route>
          ))}
          <Route path={DEVELOPER}>
            <Redirect to={developer[0]?.path ?? first.path} replace />
          </Route>
          <Route path="/settings">
            <Redirect to={first.path} replace />
          </Route>
          <Route>
            <Empty title="You cannot see this page">Ask an admin if you need it.</Empty>
          </Route>
        </Switch>
      </Suspense>
    </>
  );
}

function SectionLink({ name, path, isHere }: { name: string; path: string; isHere?: boolean }) {
  const [current] = useLocation();
  const is_here = isHere ?? (current === path || current.startsWith(`${path}/`));
  return (
    <Link href={path} aria-current={is_here ? "page" : undefined}>
      {name}
    </Link>
  );
}
