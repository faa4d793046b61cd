import { useComputedColorScheme } from '@mantine/core'
import { useEffect, useRef } from 'react'
import { useLanguage } from './messages.tsx'

type ChartProps = {
  /** The text that a screen reader reads. */
  readonly label: string
  /** Instants in milliseconds, one for each value. */
  readonly times: readonly number[]
  readonly series: readonly { readonly label: string; readonly values: readonly number[] }[]
  readonly write: (value: number) => string
}

const strokes = ['--chart-first', '--chart-second'] as const
const height = 220

async function draw(container: HTMLElement, props: ChartProps, language: string) {
  // The library is loaded by the first chart: most pages have none.
  const { default: Drawing } = await import('uplot')
  const style = getComputedStyle(container)
  const colour = (name: string): string => style.getPropertyValue(name).trim()
  const { bars } = Drawing.paths
  // Two series are side by side: bars in one place would read as a stack.
  const size: [number, number] = props.series.length > 1 ? [0.31, 17] : [0.62, 34]
  const alignOf = (index: number) => (props.series.length > 1 ? (index === 0 ? -1 : 1) : 0)
  const pathsOf = (index: number) => (bars ? { paths: bars({ size, radius: 0.2, align: alignOf(index) }) } : {})
  const axis = { stroke: colour('--mantine-color-dimmed'), font: '12px system-ui', ticks: { show: false } }
  const written = new Intl.DateTimeFormat(language, { day: 'numeric', month: 'short' })
  const toHour = new Intl.DateTimeFormat(language, { hour: '2-digit', minute: '2-digit' })
  const spanMs = (props.times.at(-1) ?? 0) - (props.times[0] ?? 0)
  const toTime = (second: number) => (spanMs > 3 * 86_400_000 ? written : toHour).format(new Date(second * 1000))
  // Half a step on either side, so that the first and last bars are not cut.
  const edge = spanMs / 1000 / Math.max(1, props.times.length - 1) / 2
  return new Drawing(
    {
      width: container.clientWidth,
      height,
      cursor: { show: false },
      legend: { show: false },
      // Half of the last date is to the right of its bar.
      padding: [12, 28, 0, 0],
      scales: {
        x: { time: true, range: (_, from, to) => [from - edge, to + edge] },
        y: { range: (_, __, max) => [0, max > 0 ? max * 1.1 : 1] },
      },
      axes: [
        { ...axis, grid: { show: false }, space: 70, size: 30, values: (_, at) => at.map(toTime) },
        {
          ...axis,
          size: 76,
          space: 44,
          grid: { stroke: colour('--line'), width: 1 },
          values: (_, values) => values.map(props.write),
        },
      ],
      series: [
        {},
        ...props.series.map(({ label }, index) => ({
          label,
          stroke: colour(strokes[index] ?? strokes[0]),
          fill: colour(`${strokes[index] ?? strokes[0]}-fill`),
          width: 0,
          points: { show: false },
          ...pathsOf(index),
        })),
      ],
    },
    [props.times.map((each) => each / 1000), ...props.series.map(({ values }) => [...values])],
    container,
  )
}

/** A chart of values over time. Pages also write the sum as text, because the chart is a picture. */
export function Chart(props: ChartProps) {
  const container = useRef<HTMLDivElement>(null)
  const { language } = useLanguage()
  const scheme = useComputedColorScheme()
  const drawn = JSON.stringify([props.times, props.series, language, scheme])
  useEffect(() => {
    const at = container.current
    if (at === null) return undefined
    let isGone = false
    let drawing: Awaited<ReturnType<typeof draw>> | undefined
    const sized = new ResizeObserver(() => drawing?.setSize({ width: at.clientWidth, height }))
    const keep = (made: NonNullable<typeof drawing>) => {
      if (isGone) return made.destroy()
      drawing = made
      sized.observe(at)
    }
    // If the chart library does not load, the text remains.
    void draw(at, props, language).then(keep, () => {})
    return () => {
      isGone = true
      sized.disconnect()
      drawing?.destroy()
    }
  }, [drawn])
  return (
    <figure className="chart">
      <div ref={container} role="img" aria-label={props.label} className="chart-place" />
      {props.series.length > 1 && (
        <figcaption>
          {props.series.map((each, index) => (
            <span key={each.label} className={`legend legend-${index}`}>
              {each.label}
            </span>
          ))}
        </figcaption>
      )}
    </figure>
  )
}
