/**
 * Countries as tiles, roughly where they are: one tile each, so that a small country is as visible as a large one. The
 * arrangement is this project's own, from the relative positions of countries and the codes of ISO 3166-1.
 */
const rows = `
.. .. .. .. .. .. .. GL .. IS .. .. NO SE FI .. .. .. .. .. .. .. .. ..
.. CA .. .. .. .. .. .. IE GB NL DK .. EE LV LT BY RU .. KZ MN .. .. ..
.. US .. .. .. .. .. .. .. BE LU DE PL CZ SK MD UA GE UZ KG CN KP JP ..
.. MX BS .. .. .. .. .. PT FR CH LI AT HU RO BG AM AZ TM TJ NP KR .. ..
.. GT BZ CU HT DO PR .. ES AD MC IT SI HR RS MK TR IQ IR AF BT HK TW ..
.. SV HN JM .. .. TT .. MA DZ TN MT SM BA ME AL GR SY KW PK BD MO PH ..
.. NI CR PA CO VE GY .. MR ML LY EG .. XK CY LB IL JO SA IN MM LA VN ..
.. .. .. EC PE BR SR .. SN BF NE TD SD ER .. .. PS QA BH LK TH KH MY SG
.. .. .. .. BO PY .. CV GM GN CI TG NG CM ET DJ YE OM AE MV .. ID BN TL
.. .. .. .. CL AR UY GW SL LR GH BJ GA CF SS SO .. .. .. .. .. PG .. FJ
.. .. .. .. .. .. .. .. .. .. GQ CG CD UG RW KE SC .. .. .. .. AU .. ..
.. .. .. .. .. .. .. .. .. .. .. AO ZM BI TZ MW KM MU .. .. .. .. .. NZ
.. .. .. .. .. .. .. .. .. .. .. NA BW ZW MZ MG .. .. .. .. .. .. .. ..
.. .. .. .. .. .. .. .. .. .. .. .. ZA LS SZ .. .. .. .. .. .. .. .. ..
`

export type Tile = { readonly code: string; readonly column: number; readonly row: number }

export const tiles: readonly Tile[] = rows
  .trim()
  .split('\n')
  .flatMap((line, row) => line.split(' ').map((code, column) => ({ code, column, row })))
  .filter(({ code }) => code !== '..')

export const columns = 24
export const rowCount = 14
