import { stateMark, states, stateTexts, stateToken } from '../domain/fabric';
import { token } from './canvas';

/** The states of links as cells and pictures have them: the colour, and a shape of each. */
export function StateLegend() {
  return (
    <span className="legend" role="group" aria-label="States">
      {states.slice(1).map((s) => (
        <span key={s} className="state-of">
          <span className={`cell ${s}`} style={{ background: token(stateToken[s]) }} aria-hidden="true">
            {stateMark[s]}
          </span>{' '}
          {stateTexts[s]}
        </span>
      ))}
    </span>
  );
}

/** The widths and colours of what links carry. */
export function LoadLegend({ full, measured }: { full: string; measured: boolean }) {
  if (!measured) return <span>What links carry is not measured.</span>;
  return (
    <span className="legend">
      <svg className="ramp" viewBox="0 0 100 12" role="img" aria-label="From little to much">
        {[1, 2, 3, 4, 5].map((i) => (
          <line
            key={i}
            style={{ stroke: token(`load-${i}`) }}
            x1={20 * i - 19}
            x2={20 * i - 1}
            y1="6"
            y2="6"
            strokeWidth={1.5 + 1.4 * (i - 1)}
          />
        ))}
      </svg>{' '}
      load, up to {full}
    </span>
  );
}
