/** Lists in the public formats, with people who do not exist. */
export const OFAC_CSV = {
  "sdn.csv": [
    `101,"VARLOMOV, Tesrik Olgin",individual,"SDGT] [CYBER2",-0- ,-0- ,-0- ,-0- ,-0- ,-0- ,-0- ,` +
      `"DOB 07 Oct 1954; alt. DOB 1955; nationality Russia; ` +
      `Digital Currency Address - ETH 0x52908400098527886E0F7030069857D2E4169EE7; ` +
      `alt. Digital Currency Address - XBT 1BoatSLRHtKNngkdXEeobR76b53LETtpyT; a.k.a. 'GREYHERON'."`,
    `102,"QUILMARA SHIPPING CO.",-0- ,"IRAN",-0- ,-0- ,-0- ,-0- ,-0- ,-0- ,-0- ,-0- `,
    "\u001a",
  ].join("\r\n"),
  "alt.csv": [
    '101,11,"aka","WARLOMOFF, Tesrik",-0- ',
    '101,12,"fka","VARLOMOV, Tesrik",-0- ',
    "\u001a",
  ].join("\r\n"),
  "add.csv": '102,21,"1 Harbour Road","Bandar","Iran",-0- \r\n\u001a',
  "sdn_comments.csv": '102,"Additional Sanctions Information"\r\n\u001a',
};

export const OFAC_XML = `<?xml version="1.0" standalone="yes"?>
<sdnList xmlns="https://example.test/ofac">
  <publshInformation><Publish_Date>01/02/2026</Publish_Date></publshInformation>
  <sdnEntry>
    <uid>201</uid><firstName>Tesrik</firstName><lastName>VARLOMOV</lastName>
    <sdnType>Individual</sdnType>
    <programList><program>SDGT</program></programList>
    <idList><id><uid>1</uid><idType>Digital Currency Address - USDT</idType>
      <idNumber>0x52908400098527886E0F7030069857D2E4169EE7</idNumber></id></idList>
    <akaList>
      <aka><uid>2</uid><type>a.k.a.</type><category>weak</category><lastName>GREYHERON</lastName></aka>
      <aka><uid>3</uid><type>a.k.a.</type><category>strong</category><lastName>WARLOMOFF</lastName>
        <firstName>Tesrik</firstName></aka>
    </akaList>
    <addressList><address><uid>4</uid><country>Russia</country></address></addressList>
    <dateOfBirthList><dateOfBirthItem><uid>5</uid><dateOfBirth>circa 1954</dateOfBirth>
      </dateOfBirthItem></dateOfBirthList>
  </sdnEntry>
  <sdnEntry><uid>202</uid><lastName>QUILMARA SHIPPING</lastName><sdnType>Entity</sdnType></sdnEntry>
</sdnList>`;

export const EU_XML = `<?xml version="1.0" encoding="UTF-8"?>
<export xmlns="https://example.test/eu" generationDate="2026-01-02">
  <sanctionEntity euReferenceNumber="EU.301.1" logicalId="301">
    <regulation programme="XYZ"/>
    <subjectType code="person" classificationCode="P"/>
    <nameAlias firstName="Tesrik" lastName="Varlomov" wholeName="Tesrik Varlomov" strong="true"/>
    <nameAlias wholeName="Тесрик Варломов" strong="true"/>
    <nameAlias wholeName="Greyheron" strong="false"/>
    <citizenship countryIso2Code="RU"/>
    <address countryIso2Code="00"/>
    <birthdate circa="false" birthdate="1954-10-07" year="1954" monthOfYear="10" dayOfMonth="7"/>
    <birthdate circa="false" yearRangeFrom="1956" yearRangeTo="1958"/>
  </sanctionEntity>
  <sanctionEntity euReferenceNumber="EU.302.1" logicalId="302">
    <subjectType code="enterprise" classificationCode="E"/>
    <nameAlias wholeName="Quilmara Shipping" strong="true"/>
  </sanctionEntity>
</export>`;

export const UN_XML = `<?xml version="1.0" encoding="UTF-8"?>
<CONSOLIDATED_LIST dateGenerated="2026-01-02">
  <INDIVIDUALS><INDIVIDUAL>
    <DATAID>401</DATAID><VERSIONNUM>1</VERSIONNUM>
    <FIRST_NAME>Tesrik</FIRST_NAME><SECOND_NAME>Olgin</SECOND_NAME><THIRD_NAME>Varlomov</THIRD_NAME>
    <UN_LIST_TYPE>Invented</UN_LIST_TYPE><REFERENCE_NUMBER>IVi.401</REFERENCE_NUMBER>
    <NAME_ORIGINAL_SCRIPT>Тесрик Варломов</NAME_ORIGINAL_SCRIPT>
    <NATIONALITY><VALUE>Russian Federation</VALUE></NATIONALITY>
    <INDIVIDUAL_ALIAS><QUALITY>Good</QUALITY><ALIAS_NAME>Tesrik Warlomoff</ALIAS_NAME></INDIVIDUAL_ALIAS>
    <INDIVIDUAL_ALIAS><QUALITY>Low</QUALITY><ALIAS_NAME>Greyheron</ALIAS_NAME></INDIVIDUAL_ALIAS>
    <INDIVIDUAL_DATE_OF_BIRTH><TYPE_OF_DATE>BETWEEN</TYPE_OF_DATE><FROM_YEAR>1953</FROM_YEAR>
      <TO_YEAR>1955</TO_YEAR></INDIVIDUAL_DATE_OF_BIRTH>
  </INDIVIDUAL></INDIVIDUALS>
  <ENTITIES><ENTITY>
    <DATAID>402</DATAID><FIRST_NAME>QUILMARA SHIPPING</FIRST_NAME>
    <REFERENCE_NUMBER>IVe.402</REFERENCE_NUMBER>
    <ENTITY_ADDRESS><COUNTRY>Iran (Islamic Republic of)</COUNTRY></ENTITY_ADDRESS>
  </ENTITY></ENTITIES>
</CONSOLIDATED_LIST>`;

const OPENSANCTIONS_COLUMNS =
  '"id","schema","name","aliases","birth_date","countries","addresses","identifiers","sanctions",' +
  '"phones","emails","program_ids","dataset","first_seen","last_seen","last_change"';

export const OPENSANCTIONS_CSV = [
  OPENSANCTIONS_COLUMNS,
  '"Q501","Person","Tesrik Varlomov","Tesrik Warlomoff;""Varlomov; Tesrik""","1954-10-07;1955",' +
    '"ru","","","","","","","invented","2026-01-01","2026-01-02","2026-01-02"',
  '"Q502","Company","Quilmara Shipping","","","ir","","","","","","","invented","","",""',
  '"Q503","CryptoWallet","wallet","","","","","0x52908400098527886E0F7030069857D2E4169EE7","","",' +
    '"","","invented","","",""',
  "",
].join("\n");

export type Listed = {
  id: string;
  name: string;
  schema?: "Person" | "Company" | "CryptoWallet";
  birth_date?: string;
  countries?: string;
  wallet?: string;
};

/** A list of OpenSanctions' format with these people, for tests that change it. */
export function listOf(people: readonly Listed[]): string {
  const rows = people.map((listed) => {
    const { id, name, birth_date = "", countries = "", wallet = "" } = listed;
    const { schema = wallet ? "CryptoWallet" : "Person" } = listed;
    const cells = [id, schema, name, "", birth_date, countries, "", wallet, "", "", "", ""];
    return [...cells, "invented", "", "", ""].map((cell) => `"${cell}"`).join(",");
  });
  return [OPENSANCTIONS_COLUMNS, ...rows, ""].join("\n");
}
