/** One alert, series with which it must ring, and series with which it must not. */
export type AlertCase = {
  readonly alert: string;
  /** The app whose alert it is. */
  readonly app: string;
  /** Values each minute, in promtool's notation, by the series; `$app` stands for the app's labels. */
  readonly rings: Readonly<Record<string, string>>;
  readonly silent: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** When it is looked. */
  readonly at: string;
  /** Labels that the alert takes from its series. */
  readonly labels?: Readonly<Record<string, string>>;
};
