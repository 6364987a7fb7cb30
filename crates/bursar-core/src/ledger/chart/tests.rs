//! Charts of the finance team: accepted charts, and rejected charts with the line of the error.

use super::{COLUMNS, Chart, Side};

const HEADER: &str = "gl,name,class,normal,address,liquidity,view\n";

#[test]
fn a_chart_is_read_as_spreadsheets_write_it() {
    let text = format!(
        "\u{feff}{}\r\n1000,\"Bank, main\", asset,debit,assets:bank:{{bankId}},T0,cash\r\n1020,Owed,asset,debit,,>T30,presentation-only\r\n",
        COLUMNS.join(",")
    );
    let chart = Chart::parse(&text).unwrap();
    let bank = chart.get("1000".parse().unwrap()).unwrap();
    assert_eq!((bank.name.as_str(), bank.side()), ("Bank, main", Side::Debit));
    assert_eq!(&*bank.pattern.as_ref().unwrap().fill(|_| "b-1"), "assets:bank:b-1");
    assert!(chart.get("1020".parse().unwrap()).unwrap().pattern.is_none());
}

#[test]
fn a_bad_chart_is_refused_with_line_and_remedy() {
    let with = |line: &str| {
        format!("{HEADER}1000,Bank,asset,debit,assets:bank:{{bankId}},T0,cash\n{line}\n")
    };
    let errors: Vec<String> = [
        String::new(),
        "code,name\n".to_owned(),
        HEADER.to_owned(),
        with("1001,Bank"),
        with("1000,Again,asset,debit,assets:again,T0,cash"),
        with("abc,Bank,asset,debit,a,T0,cash"),
        with("0100,Bank,asset,debit,a,T0,cash"),
        with("1001,,asset,debit,a,T0,cash"),
        with("1001,Bank,money,debit,a,T0,cash"),
        with("1001,Bank,asset,credit,a,T0,cash"),
        with("1001,Bank,asset,debit,a,soon,cash"),
        with("1001,Bank,asset,debit,a,T0,holds"),
        with("1001,Bank,asset,debit,a b,T0,cash"),
        with("1001,Bank,asset,debit,a:{b}c,T0,cash"),
        with("1001,Bank,asset,debit,world,T0,cash"),
        with("1001,Bank,asset,debit,assets:{kind}:main,T0,cash"),
        with("1001,\"Bank,asset,debit,a,T0,cash"),
        with("1001,Bank").replace('\n', "\r\n"),
    ]
    .iter()
    .map(|text| Chart::parse(text).unwrap_err().to_string())
    .collect();
    insta::assert_snapshot!(errors.join("\n"));
}
