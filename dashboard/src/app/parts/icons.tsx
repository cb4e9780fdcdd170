/** Line icons on a grid of 24; drawn here because a set of them would be larger than all pages. */
const PATHS = {
  overview: "M4 13h6V4H4zm10 7h6V4h-6zM4 20h6v-3H4z",
  payouts: "M4 8h12l-3-3m3 3-3 3M20 16H8l3-3m-3 3 3 3",
  quotes: "M12 3v5l3 2M12 13a5 5 0 1 0 0-10 5 5 0 0 0 0 10M5 17h14M8 21h8",
  deposits: "M12 4v11m0 0-4-4m4 4 4-4M5 20h14",
  people: "M9 11a3 3 0 1 0 0-7 3 3 0 0 0 0 7m-6 9a6 6 0 0 1 12 0m1-9a3 3 0 0 0 0-7m5 16q0-5-3-6",
  bank: "M4 9.5 12 4l8 5.5zM6 10v7m4-7v7m4-7v7m4-7v7M4 20h16",
  invoices: "M6 3h9l4 4v14H6zM14 3v5h5M9 12h6m-6 4h6",
  ledger: "M5 4h14v16H5zM5 9h14M9 9v11",
  approvals: "M4 12.5 9 17.5 20 6.5",
  mail: "M4 6h16v12H4zm0 1 8 6 8-6",
  shield: "M12 3 5 6v5c0 5 3 8 7 10 4-2 7-5 7-10V6zm-3 9 2 2 4-4",
  settings: "M4 7h10m4 0h2M4 17h2m4 0h10M16 5v4M8 15v4",
  search: "M10.5 17a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13m5-1.5L20 20",
  menu: "M4 7h16M4 12h16M4 17h16",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  close: "M6 6l12 12M18 6 6 18",
  external: "M14 5h5v5m0-5-8 8M11 6H5v13h13v-6",
  wait: "M12 7v5l3.5 2M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18",
  work: "M20 12a8 8 0 1 1-3-6.2M20 4v5h-5",
  needs: "M12 4 2.8 20h18.4zM12 10v4.5m0 2.8v.2",
  done: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18m-4-9 3 3 5-6",
  back: "M9 7 4 12l5 5m-5-5h11a5 5 0 0 1 0 10h-2",
  failed: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18m-3-12 6 6m0-6-6 6",
  download: "M12 4v11m0 0-4-4m4 4 4-4M4 19h16",
  dark: "M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.5",
  plus: "M12 5v14M5 12h14",
  minus: "M5 12h14",
  unfold: "M9 6l6 6-6 6",
  fold: "M6 9l6 6 6-6",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name, size = 18 }: { name: IconName; size?: number }) {
  return (
    <svg
      className="icon"
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.8"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      <path d={PATHS[name]} />
    </svg>
  );
}
