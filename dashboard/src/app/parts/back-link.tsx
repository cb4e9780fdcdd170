import { Link } from "wouter";

/** The way back to the list, above the page of a record. */
export function BackLink({ name, path }: { name: string; path: string }) {
  return (
    <nav aria-label="Back" className="back">
      <Link href={path}>‹ {name}</Link>
    </nav>
  );
}
