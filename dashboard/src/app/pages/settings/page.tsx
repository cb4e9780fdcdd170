import { type ComponentType, lazy, Suspense } from "react";
import { Link, Redirect, Route, Switch, useLocation } from "wouter";
import { Empty, Loading, NoSuchPage, NotForYou } from "../../parts/states.tsx";
import { DEVELOPER, SETTINGS, type SectionName } from "../../paths.ts";
import { may } from "../../session.ts";

const PAGES: Readonly<Record<SectionName, ComponentType>> = {
  team: lazy(() => import("./team/page.tsx")),
  security: lazy(() => import("./security/page.tsx")),
  audit: lazy(() => import("./audit/page.tsx")),
  apps: lazy(() => import("./apps/page.tsx")),
  keys: lazy(() => import("./keys/page.tsx")),
  logs: lazy(() => import("./logs/page.tsx")),
};

/** Settings, by section; who may see none of a section does not see its name. */
export default function SettingsPage() {
  const all = Object.entries(SETTINGS)
    .filter(([, { permission }]) => may(permission))
    .map(([name, section]) => ({ ...section, page: PAGES[name as SectionName] }));
  const sections = all.filter(({ path: at }) => !at.startsWith(DEVELOPER));
  const developer = all.filter(({ path: at }) => at.startsWith(DEVELOPER));
  const [path] = useLocation();
  const isDeveloper = path.startsWith(DEVELOPER);
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
            {isKnown(path) ? <NotForYou /> : <NoSuchPage name="Settings" path={first.path} />}
          </Route>
        </Switch>
      </Suspense>
    </>
  );
}

/** Whether it is a section, be it one that this role may not see. */
function isKnown(path: string): boolean {
  return Object.values(SETTINGS).some((section) => !may(section.permission) && isIn(path, section));
}

function isIn(path: string, section: { path: string }): boolean {
  return path === section.path || path.startsWith(`${section.path}/`);
}

function SectionLink({ name, path, isHere }: { name: string; path: string; isHere?: boolean }) {
  const [current] = useLocation();
  const is_here = isHere ?? isIn(current, { path });
  return (
    <Link href={path} aria-current={is_here ? "page" : undefined}>
      {name}
    </Link>
  );
}
