import type { ReactNode } from 'react'

export type Column<Of> = {
  readonly name: string
  readonly label: string
  readonly isFigure?: boolean
  /** Free text, which may take several lines. */
  readonly isText?: boolean
  /** What a screen reader is told, where the label is not to be seen. */
  readonly isUnlabelled?: boolean
  readonly show: (row: Of) => ReactNode
}

/** A table; on a phone each row is a card, with the column's name before each value. */
export function Rows<Of>({
  label,
  columns,
  rows,
  keyOf,
}: {
  readonly label: string
  readonly columns: readonly Column<Of>[]
  readonly rows: readonly Of[]
  readonly keyOf: (row: Of) => string | number
}) {
  return (
    <div className="rows-frame">
      <table className="rows" aria-label={label}>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.name} scope="col" className={column.isFigure ? 'number' : ''}>
                {column.isUnlabelled ? <span className="unseen">{column.label}</span> : column.label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map((column) => (
                <td
                  key={column.name}
                  className={column.isFigure ? 'number' : column.isText ? 'text' : ''}
                  data-label={column.isUnlabelled ? '' : column.label}
                >
                  {column.show(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
